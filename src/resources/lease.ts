import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import { numberMember, objectMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { int32, microTime, part, struct, text } from '../api/schema/build.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'

/** Leases: leader election of programs, and heartbeats of nodes. */
export function leaseDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('coordination'),
    version: 'v1',
    kind: 'Lease',
    plural: 'leases',
    singular: 'lease',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: leaseSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    putCreates: true,
    updateNeedsVersion: true,
    columns: [nameColumn, holderColumn, ageColumn],
    hooks: { validate },
    subresources: [],
  } satisfies ResourceDefinition)
}

const holderColumn: Column = {
  name: 'Holder',
  type: 'string',
  description: 'Identity of the holder.',
  cell: (object) => cellAt(object, 'spec', 'holderIdentity'),
}

const leaseSpecSchema = struct('coordination.v1.LeaseSpec', 'Holder and duration of a lease.', {
  holderIdentity: text(1, 'Identity of the holder; empty means that the lease is free.', { optional: true }),
  leaseDurationSeconds: int32(2, 'Duration in seconds, counted from renewTime.', { optional: true }),
  acquireTime: microTime(3, 'Time of acquisition by the current holder.', { optional: true }),
  renewTime: microTime(4, 'Time of the last renewal.', { optional: true }),
  leaseTransitions: int32(5, 'Number of changes of the holder.', { optional: true }),
})

const leaseSchema = struct('coordination.v1.Lease', 'A lease: a lock that its holder must renew.', {
  spec: part(2, leaseSpecSchema, 'Holder and duration of the lease.'),
})

function validate(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const seconds = numberMember(spec, 'leaseDurationSeconds')
  if (seconds !== null && seconds <= 0) {
    found.add(invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'))
  }
  const transitions = numberMember(spec, 'leaseTransitions')
  if (transitions !== null && transitions < 0) {
    found.add(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'))
  }
}
