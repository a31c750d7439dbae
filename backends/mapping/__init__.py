"""What of each runtime stands for which of DirectML's operators, put side by side for the guide."""
