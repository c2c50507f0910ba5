SELECT noop();
