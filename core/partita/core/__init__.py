"""Floor 4: the control plane. Meets user code only through `partita.grpc.client`, never through an import."""
