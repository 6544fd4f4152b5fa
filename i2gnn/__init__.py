"""Graph neural networks that can count."""
