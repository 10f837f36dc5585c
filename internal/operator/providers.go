package operator

// providerLoops lists the loops that providers have of their own.
func providerLoops(*shared) []loop { return nil }
