"""What it costs: the mathematics of μ (composition) and of other accounting frameworks."""
