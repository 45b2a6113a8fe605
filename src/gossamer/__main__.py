"""Entry point of `python -m gossamer`: the command line."""

from gossamer.cli.main import run

if __name__ == "__main__":
    run()
