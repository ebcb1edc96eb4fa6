"""The server around the pages: configuration, sign-in, headers, health check and background jobs."""
