/* beside.h - a file that is written beside the one that it will replace, and renamed when it is whole: PATH.PROCESS-NUMBER@HOST.part.
 *
 * The host is in the name because folders are shared between machines, and a process number means something on one of them only;
 * the number because threads of one process may write the same file at once. */
#ifndef BASE_BESIDE_H
#define BASE_BESIDE_H

/* A fresh one, which nobody has put there for us: no link is followed, and no file that is there is written to. *name is for the
 * caller to free. -1: errno says why. */
int ti_beside_create(const char *path, char **name);

/* Take away what processes that live no more have left beside this path: of this host, or nobody's for a day, since nobody here can ask
 * for the process of another host. What belongs to others is not touched. */
void ti_beside_sweep(const char *path);

#endif
