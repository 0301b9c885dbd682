import type { ApiErrorCause } from '../../api/api-error.ts'
import { invalid, notSupported, required } from '../../api/field-error.ts'
import { objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1123Subdomain, checkPathSegment } from '../../api/name-rules.ts'
import type { Names } from '../../api/names.ts'
import { struct, text, texts } from '../../api/schema/build.ts'
import type { AnyObject, Column } from '../../registry/definition.ts'

/** What roles and bindings have in common. @source spec 5.7; upstream `pkg/apis/rbac/validation` */

export const policyRuleSchema = struct('rbac.v1.PolicyRule', 'What may be done, with what.', {
  verbs: texts(1, 'What may be done; * is everything.', { required: true }),
  apiGroups: texts(2, 'Groups of the resources; empty text is the core group, * all groups.'),
  resources: texts(3, 'The resources, as pods or pods/log; * is all of them.'),
  resourceNames: texts(4, 'Names of the objects that are meant; all of them when there are none.'),
  nonResourceURLs: texts(5, 'Paths beside the resources; a final * stands for any rest.'),
})

export const roleRefSchema = struct(
  'rbac.v1.RoleRef',
  'Names the role that is given.',
  {
    apiGroup: text(1, 'Group of the role.', { required: true }),
    kind: text(2, 'Role or ClusterRole.', { required: true }),
    name: text(3, 'Name of the role.', { required: true, rule: checkPathSegment }),
  },
  { mapType: 'atomic' },
)

export const subjectSchema = struct(
  'rbac.v1.Subject',
  'Who is given the role.',
  {
    kind: text(1, 'User, Group or ServiceAccount.', { required: true }),
    apiGroup: text(2, 'Group of the kind: none for a ServiceAccount, the group of roles for the others.'),
    name: text(3, 'Name of the subject.', { required: true }),
    namespace: text(4, 'Namespace of a ServiceAccount.'),
  },
  { mapType: 'atomic' },
)

/** The group of roles and bindings. */
export function roleGroup(names: Names): string {
  return names.group('rbac.authorization')
}

/** @param namespaced the rules hold within one namespace, in which there are no paths */
export function checkRules(object: AnyObject, namespaced: boolean): readonly ApiErrorCause[] {
  return objectsMember(object, 'rules').flatMap((rule, at) => checkRule(rule, `rules[${at}]`, namespaced))
}

function checkRule(rule: JsonObject, path: string, namespaced: boolean): readonly ApiErrorCause[] {
  const urls = textsMember(rule, 'nonResourceURLs')
  const [groups, resources, resourceNames] = ['apiGroups', 'resources', 'resourceNames'].map((name) =>
    textsMember(rule, name),
  ) as [readonly string[], readonly string[], readonly string[]]
  if (urls.length > 0) {
    const field = `${path}.nonResourceURLs`
    if (namespaced) return [invalid(field, urls, 'namespaced rules cannot apply to non-resource URLs')]
    if (groups.length + resources.length + resourceNames.length === 0) return []
    return [invalid(field, urls, 'rules cannot apply to both regular resources and non-resource URLs')]
  }
  const causes: ApiErrorCause[] = []
  if (groups.length === 0) {
    causes.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'))
  }
  if (resources.length === 0) {
    causes.push(required(`${path}.resources`, 'resource rules must supply at least one resource'))
  }
  return causes
}

/** A binding whose references say their group, where it goes without saying. */
export function withGroups(object: AnyObject, names: Names): AnyObject {
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

/** @param roleKinds kinds of roles that such a binding can give */
export function checkBinding(
  object: AnyObject,
  of: { readonly names: Names; readonly roleKinds: readonly string[]; readonly namespaced: boolean },
): readonly ApiErrorCause[] {
  const group = roleGroup(of.names)
  const ref = objectMember(object, 'roleRef')
  const causes: ApiErrorCause[] = []
  const apiGroup = textMember(ref, 'apiGroup')
  if (apiGroup !== '' && apiGroup !== group) {
    causes.push(notSupported('roleRef.apiGroup', apiGroup, [group]))
  }
  const kind = textMember(ref, 'kind')
  if (kind !== '' && !of.roleKinds.includes(kind)) {
    causes.push(notSupported('roleRef.kind', kind, of.roleKinds))
  }
  for (const [at, subject] of objectsMember(object, 'subjects').entries()) {
    causes.push(...checkSubject(subject, `subjects[${at}]`, group, of.namespaced))
  }
  return causes
}

function checkSubject(
  subject: JsonObject,
  path: string,
  group: string,
  namespaced: boolean,
): readonly ApiErrorCause[] {
  const [kind, name, apiGroup] = ['kind', 'name', 'apiGroup'].map((member) =>
    textMember(subject, member),
  ) as [string, string, string]
  switch (kind) {
    case 'ServiceAccount': {
      const wrong = name === '' ? [] : checkDns1123Subdomain(name)
      const causes = wrong.map((words) => invalid(`${path}.name`, name, words))
      if (apiGroup !== '') causes.push(notSupported(`${path}.apiGroup`, apiGroup, ['']))
      if (!namespaced && textMember(subject, 'namespace') === '') causes.push(required(`${path}.namespace`))
      return causes
    }
    case 'User':
    case 'Group':
      return apiGroup === group ? [] : [notSupported(`${path}.apiGroup`, apiGroup, [group])]
    case '':
      return []
    default:
      return [notSupported(`${path}.kind`, kind, subjectKinds)]
  }
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']

/** Who was given a role would keep it under another name: to give another role, make another binding. */
export function checkSameRole(object: AnyObject, current: AnyObject): readonly ApiErrorCause[] {
  const [ref, old] = [objectMember(object, 'roleRef'), objectMember(current, 'roleRef')]
  const isSame = ['apiGroup', 'kind', 'name'].every((name) => textMember(ref, name) === textMember(old, name))
  return isSame ? [] : [invalid('roleRef', ref, 'cannot change roleRef')]
}

export const roleColumn: Column = {
  name: 'Role',
  type: 'string',
  description: 'The role that is given.',
  cell: (object) => {
    const ref = objectMember(object, 'roleRef')
    return `${textMember(ref, 'kind')}/${textMember(ref, 'name')}`
  },
}

/** Who is given the role, by kind. */
export const subjectColumns: readonly Column[] = [
  subjectColumn('Users', 'User', 'Users that are given the role.'),
  subjectColumn('Groups', 'Group', 'Groups that are given the role.'),
  subjectColumn('ServiceAccounts', 'ServiceAccount', 'Service accounts that are given the role.'),
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
