"""What tables rest on: which page binds, what grade its sentences have, and where it can be read."""
