"""What the end-to-end tests speak with: the real binary, raw sockets, a strict event parser, a replica."""
