"""What every part of the package needs: errors, settings, files, profiling, the machine."""
