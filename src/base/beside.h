/* beside.h - a file that is written beside the one that it will replace, and renamed when it is whole: PATH.PROCESS.part. */
#ifndef BASE_BESIDE_H
#define BASE_BESIDE_H

/* A fresh one, which nobody has put there for us: no link is followed, and no file that is there is written to. *name is for the
 * caller to free. -1: errno says why. */
int ti_beside_create(const char *path, char **name);

/* Take away what processes that live no more have left beside this path. Those of others' are not touched. */
void ti_beside_sweep(const char *path);

#endif
