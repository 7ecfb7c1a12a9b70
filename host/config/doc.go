// Package config reads what an operator has set: defaults, below a YAML file,
// below the environment (POISE_…), below the flags of the command line. It
// imports koanf and pflag and no package of Poise; who composes the daemon turns
// its plain values into the settings of the other packages.
//
// A Config is whole or it is not there: Load gives every problem at once, each
// with its key, its value, what was expected and where it was set, and no Config.
// Every setting has one row in the table of settings, which gives its name in the
// file, in the environment and as a flag, its range, and whether it can change
// while the daemon runs. A Live keeps the configuration in force: it swaps in a
// new one that is right, and keeps the old one when the file has become wrong.
package config
