import Glibc

exit(Fuzzing.run())
