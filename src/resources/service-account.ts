import { objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { flag, listOf, struct } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, DefinitionFor, ResourceDefinition } from '../registry/kinds/definition.ts'
import { localObjectReferenceSchema } from './common/local-object-reference.ts'
import { objectReferenceSchema } from './common/object-reference.ts'
import { tokenRequest } from './token-request.ts'

/** An identity of programs in pods. @source spec 5.6 */
export const serviceAccountDefinition: DefinitionFor = (names) =>
  Object.freeze({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    singular: 'serviceaccount',
    shortNames: ['sa'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: serviceAccountSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    columns: [nameColumn, secretsColumn, ageColumn],
    hooks: { prepareForCreate: namesOfSecrets, prepareForUpdate: namesOfSecrets },
    subresources: [tokenRequest(names)],
  } satisfies ResourceDefinition)

const serviceAccountSchema = struct('core.v1.ServiceAccount', 'Identity of programs in Pods.', {
  secrets: listOf(2, objectReferenceSchema, 'Secrets that Pods of this account may use, by name.', {
    patchMergeKey: 'name',
    patchStrategy: 'merge',
  }),
  imagePullSecrets: listOf(
    3,
    localObjectReferenceSchema,
    'Secrets with which images are pulled for pods of this account.',
  ),
  automountServiceAccountToken: flag(4, 'Whether a token of this account is mounted; Pods may override it.', {
    optional: true,
  }),
})

const secretsColumn: Column = {
  name: 'Secrets',
  type: 'string',
  description: 'Number of Secrets of the account.',
  cell: (object) => objectsMember(object, 'secrets').length,
}

/** The Secrets of an account are in its own namespace, so only the name of a reference is kept. */
function namesOfSecrets(object: AnyObject): AnyObject {
  if (!Object.hasOwn(object, 'secrets')) return object
  const secrets = objectsMember(object, 'secrets').map((secret): JsonObject => {
    const name = textMember(secret, 'name')
    return name === '' ? {} : { name }
  })
  return { ...object, secrets }
}
