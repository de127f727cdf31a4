"""How long a shot and a survey take: arithmetic from rates of a machine."""
