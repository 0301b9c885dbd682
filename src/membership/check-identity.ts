import type { Names } from '../api/metadata/names.ts'
import type { ClusterIdentity } from '../store/command.ts'
import { StartError } from '../config/start-error.ts'

export type OwnIdentity = {
  readonly names: Names
  /**
   * Fingerprints of the authorities of a member that makes its own keys. If its keys were lost, it
   * would make new authorities, which nothing trusts. null: the keys came from files. Operators may
   * replace those, and peers reject a member of another authority.
   */
  readonly selfMade: Readonly<Record<string, string>> | null
}

/**
 * Checks whether this member may belong to the cluster whose state it has.
 *
 * @returns null, or the difference and the remedy
 */
export function checkIdentity(identity: ClusterIdentity, own: OwnIdentity): StartError | null {
  if (identity.apiDomain !== own.names.domain) {
    return new StartError(
      'data-directory',
      `the API domain of this cluster is ${identity.apiDomain}, that of this member ${own.names.domain}: give --api-domain ${identity.apiDomain}`,
    )
  }
  for (const [name, print] of Object.entries(own.selfMade ?? {})) {
    const expected = identity.keyFingerprints[name]
    if (expected !== undefined && expected !== print) {
      return new StartError(
        'keys',
        `the ${name} of this member is not the cluster's: restore the pki directory that contained its keys`,
      )
    }
  }
  return null
}
