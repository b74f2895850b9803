"""Other people's interfaces, each made a world of ours."""
