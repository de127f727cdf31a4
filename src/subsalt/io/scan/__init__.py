"""What SEG-Y and SU files hold: facts, oddities with evidence and cure, amplitudes."""
