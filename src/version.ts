/** Of this program; kept equal to package.json by a test. */
export const programVersion = '0.1.0'
/**
 * The newest rules of apply that this program knows. Rules are chosen by the replicated feature
 * level, which rises only once every member knows the next one:
 *
 * 1. conditions, history, sessions
 * 2. the size of objects and the storage quota are decided at apply
 * 3. members are objects, made at apply from the configuration; kinds are defined by objects, and a
 *   write says by which; a command that cannot be decoded does nothing
 */
export const featureLevelMax = 3
