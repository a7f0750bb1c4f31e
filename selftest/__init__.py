"""Prove it by launching: real operations, traced or in a child process."""
