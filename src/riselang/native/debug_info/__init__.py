"""Line tables and symbols of generated code, for debuggers and profilers."""
