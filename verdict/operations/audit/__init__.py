"""What an auditor asks: do events, outcomes, archive, state and read models still hold together?"""
