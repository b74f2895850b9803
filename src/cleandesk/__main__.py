"""``python -m cleandesk``, where the command itself is not on the path."""

from cleandesk.cli import main

if __name__ == "__main__":
    main(prog_name="cleandesk")
