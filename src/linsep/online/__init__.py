"""How an online fit runs: passes, state, which weights are kept, votes, cycle detection."""
