"""Floor 2: what user code imports. Owns declarations and the in-process runner; refuses to know the control plane."""
