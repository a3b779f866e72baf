"""Floor 5: what people touch. Owns the command line, the HTTP API and the built web application."""
