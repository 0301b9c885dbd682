import type { Findings } from '../../api/errors/findings.ts'
import { invalid, notSupported, required } from '../../api/errors/field-error.ts'
import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1123Subdomain, checkPathSegment } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import { listOf, part, struct, text } from '../../api/schema/build.ts'
import { ageColumn, nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { roleGroup } from './policy-rule.ts'

/** Parts shared by both kinds of bindings. @source spec 5.7; upstream `pkg/apis/rbac/validation` */

const roleRefSchema = struct(
  'rbac.v1.RoleRef',
  'Reference to a role.',
  {
    apiGroup: text(1, 'Group of the role.', { required: true }),
    kind: text(2, 'Role or ClusterRole.', { required: true }),
    name: text(3, 'Name of the role.', { required: true, rule: checkPathSegment }),
  },
  { mapType: 'atomic' },
)

const subjectSchema = struct(
  'rbac.v1.Subject',
  'A subject that is granted a role.',
  {
    kind: text(1, 'User, Group or ServiceAccount.', { required: true }),
    apiGroup: text(
      2,
      'API group of the subject: empty for ServiceAccounts, the RBAC group for users and groups.',
    ),
    name: text(3, 'Name of the subject.', { required: true }),
    namespace: text(4, 'Namespace of a ServiceAccount.'),
  },
  { mapType: 'atomic' },
)

export const bindingMembers = {
  subjects: listOf(2, subjectSchema, 'Subjects that are granted the role.'),
  roleRef: part(3, roleRefSchema, 'The granted role; immutable.', { required: true, always: true }),
}

type BoundRoles = {
  /** Kinds of roles that the binding can grant. */
  readonly roleKinds: readonly string[]
  /** Whether the role is granted within one namespace. */
  readonly namespaced: boolean
}

export function bindingBasics(names: Names, of: BoundRoles) {
  return {
    group: roleGroup(names),
    version: 'v1',
    shortNames: [],
    categories: [],
    scope: of.namespaced ? 'Namespaced' : 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    putCreates: true,
    columns: [nameColumn, roleColumn, ageColumn, ...subjectColumns],
    hooks: {
      fillDefaults: (object) => withGroups(object, names),
      validate: (object, found) => checkBinding(object, names, of, found),
      validateUpdate: checkSameRole,
    },
    subresources: [],
  } satisfies Partial<ResourceDefinition>
}

/** Fills in the API groups that are implied by the kinds. */
function withGroups(object: AnyObject, names: Names): AnyObject {
  const group = roleGroup(names)
  const ref = objectMember(object, 'roleRef')
  const roleRef = textMember(ref, 'apiGroup') === '' ? { ...ref, apiGroup: group } : ref
  if (!Object.hasOwn(object, 'subjects')) return { ...object, roleRef }
  const subjects = objectsMember(object, 'subjects').map((subject) => {
    const plain = ['User', 'Group'].includes(textMember(subject, 'kind'))
    return plain && textMember(subject, 'apiGroup') === '' ? { ...subject, apiGroup: group } : subject
  })
  return { ...object, roleRef, subjects }
}

function checkBinding(object: AnyObject, names: Names, of: BoundRoles, found: Findings): void {
  const group = roleGroup(names)
  const ref = objectMember(object, 'roleRef')
  const apiGroup = textMember(ref, 'apiGroup')
  if (apiGroup !== '' && apiGroup !== group) {
    found.add(notSupported('roleRef.apiGroup', apiGroup, [group]))
  }
  const kind = textMember(ref, 'kind')
  if (kind !== '' && !of.roleKinds.includes(kind)) {
    found.add(notSupported('roleRef.kind', kind, of.roleKinds))
  }
  for (const [at, subject] of objectsMember(object, 'subjects').entries()) {
    checkSubject(subject, `subjects[${at}]`, group, of.namespaced, found)
  }
}

function checkSubject(
  subject: JsonObject,
  path: string,
  group: string,
  namespaced: boolean,
  found: Findings,
): void {
  const [kind, name, apiGroup] = ['kind', 'name', 'apiGroup'].map((member) =>
    textMember(subject, member),
  ) as [string, string, string]
  switch (kind) {
    case 'ServiceAccount': {
      const wrong = name === '' ? [] : checkDns1123Subdomain(name)
      for (const words of wrong) found.add(invalid(`${path}.name`, name, words))
      if (apiGroup !== '') found.add(notSupported(`${path}.apiGroup`, apiGroup, ['']))
      if (!namespaced && textMember(subject, 'namespace') === '') found.add(required(`${path}.namespace`))
      return
    }
    case 'User':
    case 'Group':
      if (apiGroup !== group) found.add(notSupported(`${path}.apiGroup`, apiGroup, [group]))
      return
    case '':
      return
    default:
      found.add(notSupported(`${path}.kind`, kind, subjectKinds))
      return
  }
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']

/** The role reference is immutable: granting another role needs another binding. */
function checkSameRole(object: AnyObject, current: AnyObject, found: Findings): void {
  const [ref, old] = [objectMember(object, 'roleRef'), objectMember(current, 'roleRef')]
  const isSame = ['apiGroup', 'kind', 'name'].every((name) => textMember(ref, name) === textMember(old, name))
  if (!isSame) found.add(invalid('roleRef', ref, 'cannot change roleRef'))
}

const roleColumn: Column = {
  name: 'Role',
  type: 'string',
  description: 'The granted role.',
  cell: (object) => {
    const ref = objectMember(object, 'roleRef')
    return `${textMember(ref, 'kind')}/${textMember(ref, 'name')}`
  },
}

/** Columns of the subjects by kind. */
const subjectColumns: readonly Column[] = [
  subjectColumn('Users', 'User', 'Users that are granted the role.'),
  subjectColumn('Groups', 'Group', 'Groups that are granted the role.'),
  subjectColumn('ServiceAccounts', 'ServiceAccount', 'Service accounts that are granted the role.'),
]

function subjectColumn(name: string, kind: string, description: string): Column {
  return {
    ...{ name, type: 'string', priority: 1, description },
    cell: (object) =>
      objectsMember(object, 'subjects')
        .filter((subject) => textMember(subject, 'kind') === kind)
        .map((subject) => {
          const namespace = textMember(subject, 'namespace')
          const bare = textMember(subject, 'name')
          return kind === 'ServiceAccount' ? `${namespace}/${bare}` : bare
        })
        .join(', '),
  }
}
