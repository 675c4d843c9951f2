"""What a browser, Prometheus and programs of others see: standing, reader and application."""
