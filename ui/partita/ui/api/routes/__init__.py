"""The routes of `/api/v1`, one module per subject. Owns HTTP only: each asks one service and returns its model."""
