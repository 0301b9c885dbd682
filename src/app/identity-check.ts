import type { Names } from '../api/names.ts'
import type { ClusterIdentity } from '../store/command.ts'
import { StartFailure } from './errors.ts'

/**
 * Whether this member may belong to the cluster whose state it has.
 *
 * @returns null, or what differs and what to do
 */
export function checkIdentity(
  identity: ClusterIdentity,
  own: { readonly names: Names; readonly fingerprints: Readonly<Record<string, string>> },
): StartFailure | null {
  if (identity.apiDomain !== own.names.domain) {
    return new StartFailure(
      'data-directory',
      `this cluster speaks ${identity.apiDomain}, this member ${own.names.domain}: give --api-domain ${identity.apiDomain}`,
    )
  }
  for (const [name, print] of Object.entries(own.fingerprints)) {
    const expected = identity.keyFingerprints[name]
    if (expected !== undefined && expected !== print) {
      return new StartFailure(
        'keys',
        `the ${name} of this member is not the cluster's: give it the files that the other members have`,
      )
    }
  }
  return null
}
