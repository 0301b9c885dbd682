import type { Names } from '../api/metadata/names.ts'
import type { ClusterIdentity } from '../store/command.ts'
import { StartFailure } from '../config/start-failure.ts'

export type OwnIdentity = {
  readonly names: Names
  /**
   * Of the authorities of a member that makes its own keys; null: files were given, which may be replaced like
   * passwords, and a peer of another authority is not let in. Keys made anew nobody else would know.
   */
  readonly selfMade: Readonly<Record<string, string>> | null
}

/**
 * Whether this member may belong to the cluster whose state it has.
 *
 * @returns null, or what differs and what to do
 */
export function checkIdentity(identity: ClusterIdentity, own: OwnIdentity): StartFailure | null {
  if (identity.apiDomain !== own.names.domain) {
    return new StartFailure(
      'data-directory',
      `this cluster speaks ${identity.apiDomain}, this member ${own.names.domain}: give --api-domain ${identity.apiDomain}`,
    )
  }
  for (const [name, print] of Object.entries(own.selfMade ?? {})) {
    const expected = identity.keyFingerprints[name]
    if (expected !== undefined && expected !== print) {
      return new StartFailure(
        'keys',
        `the ${name} of this member is not the cluster's: bring back the pki directory that its keys were in`,
      )
    }
  }
  return null
}
