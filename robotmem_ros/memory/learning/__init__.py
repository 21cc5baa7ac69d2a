"""What happens to a fact when it is learned: it is classified, compared with what is known, and stored or merged."""
