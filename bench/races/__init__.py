"""The parts of `bench/run.py`: Gossamer beside its peers, and beside the limits of the machine."""
