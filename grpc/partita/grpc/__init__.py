"""Floor 3: the wire contract and both of its ends. Client and generated code never import the SDK; the server may."""
