"""What an implementation finds in the memory that it is given, and what that tells it."""
