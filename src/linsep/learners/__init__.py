"""Online fitting: passes, state, which weights are kept, votes, cycle detection."""
