/** Version of this program; a test keeps it equal to package.json. */
export const programVersion = '0.1.0'
/**
 * The newest version of the apply rules that this program supports. Rules are chosen by the
 * replicated feature level, which rises only once every member supports the next one:
 *
 * 1. conditions, history, sessions
 * 2. the size of objects and the storage quota are decided at apply
 * 3. members are objects, made at apply from the configuration; kinds are defined by objects, and a
 *   write names its definition; a command that cannot be decoded does nothing; an authority that
 *   does not sign yet can be announced
 */
export const featureLevelMax = 3
