"""What an implementation finds in the memory that it is given, and what that reveals to it."""
