"""Which exchanges count as US."""

US_EXCHANGES = ("NASDAQ", "NYSE", "NYSE American", "NYSE Arca", "Cboe BZX", "IEX")
