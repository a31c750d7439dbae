"""Wrong implementations of one, two and three conditions: what a run says of each is one block, and it is true."""
