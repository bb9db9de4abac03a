"""The storm: writers that are killed, migrations, thinning, restored backups; and the two readers of README.md that must
hold exactly the tables whenever the writers pause. A run is given by its seed but for the moments at which processes meet."""
