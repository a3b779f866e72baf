"""The code-location server: it owns user code, the processes that import it and the attempts that run it.

Three kinds of process. The *supervisor* (`main`, `app`, `supervisor`, `warm`, `attempt`) speaks gRPC and never imports
user code. One *zygote* per loaded code version (`zygote`) imports the user's modules and never imports gRPC. One *child*
per attempt (`runner`) is forked from the zygote, or is a fresh interpreter when forking is unsafe. They talk in JSON
frames over socket pairs (`frames`). Nothing here reaches the database: an attempt speaks only through its own stream.
"""
