"""How the time of readers grows with the bytes they read: measurement, readers and hostile patterns."""
