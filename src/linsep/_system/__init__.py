"""What an operating system is needed for: interrupts, threads, files and caches."""
