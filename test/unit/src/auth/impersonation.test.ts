/*
 * Goal: the impersonation headers name exactly one user, and each name needs its permission.
 * Method: headers as in `rawHeaders` of Node: a list in which names and values alternate.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { impersonationOf } from '../../../../src/auth/impersonation.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'

const names = namesOf('orch.io')
const requested = (...headers: string[]): ReturnType<typeof impersonationOf> =>
  impersonationOf(headers, names)

/** The permissions as `resource[/subresource] name`. */
function permissionsOf(...headers: string[]): readonly string[] {
  return (requested(...headers)?.permissions ?? []).map(
    ({ verb, group, resource, subresource, namespace, name }) => {
      assert.equal(verb, 'impersonate')
      const what = subresource === '' ? resource : `${resource}/${subresource}`
      return [group, what, namespace, name].filter((part) => part !== '').join(' ')
    },
  )
}

void test('spec 5.4: a request without impersonation headers is that of its caller', () => {
  assert.equal(requested('Accept', '*/*', 'X-Impersonate-User', 'x'), null)
})

void test('spec 5.4: user, groups, extra and uid are taken over, and each needs its permission', () => {
  const headers = [
    ...['Impersonate-User', 'jane', 'impersonate-group', 'devs', 'Impersonate-Group', 'ops'],
    ...['Impersonate-Extra-Acme.io%2Fproject', 'some', 'impersonate-extra-acme.io%2fproject', 'more'],
    ...['Impersonate-Uid', '42'],
  ]
  const found = requested(...headers)
  assert.deepEqual(found?.user, {
    name: 'jane',
    uid: '42',
    groups: ['devs', 'ops', 'system:authenticated'],
    extra: { 'acme.io/project': ['some', 'more'] },
  })
  assert.deepEqual(permissionsOf(...headers), [
    'users jane',
    'groups devs',
    'groups ops',
    'authentication.orch.io userextras/acme.io/project some',
    'authentication.orch.io userextras/acme.io/project more',
    'authentication.orch.io uids 42',
  ])
})

void test('spec 5.4: a service account is impersonated by its permission, and has its groups', () => {
  const user = 'system:serviceaccount:ns:robot'
  assert.deepEqual(permissionsOf('Impersonate-User', user), ['serviceaccounts ns robot'])
  assert.deepEqual(requested('Impersonate-User', user)?.user.groups, [
    'system:serviceaccounts',
    'system:serviceaccounts:ns',
    'system:authenticated',
  ])
  assert.deepEqual(requested('Impersonate-User', user, 'Impersonate-Group', 'g')?.user.groups, [
    'g',
    'system:authenticated',
  ])
  assert.deepEqual(permissionsOf('Impersonate-User', `${user}:more`), [`users ${user}:more`])
})

void test('the anonymous user has the group of requests without credentials', () => {
  assert.deepEqual(requested('Impersonate-User', 'system:anonymous')?.user.groups, ['system:unauthenticated'])
  const asUnknown = ['Impersonate-User', 'jane', 'Impersonate-Group', 'system:unauthenticated']
  assert.deepEqual(requested(...asUnknown)?.user.groups, ['system:unauthenticated'])
})

void test('spec 5.4: headers that do not name one user are refused', () => {
  for (const headers of [
    ['Impersonate-Group', 'devs'],
    ['Impersonate-Uid', '1'],
    ['Impersonate-Extra-a', 'b'],
    ['Impersonate-User', ''],
    ['Impersonate-User', 'jane', 'Impersonate-User', 'john'],
    ['Impersonate-User', 'jane', 'Impersonate-Uid', '1', 'Impersonate-Uid', '2'],
    ['Impersonate-User', 'jane', 'Impersonate-Groups', 'devs'],
    ['Impersonate-User', 'jos\xe9'],
    ['Impersonate-User', 'jane', 'Impersonate-Group', '\xc3'],
    ['Impersonate-User', 'jane', ...Array.from({ length: 300 }, () => ['Impersonate-Group', 'g']).flat()],
  ]) {
    assert.throws(
      () => requested(...headers),
      (cause) => cause instanceof ApiError && cause.code === 'BadRequest',
      headers.slice(0, 4).join(' '),
    )
  }
})

void test('an extra key that is not percent-encoded UTF-8 is taken as it is', () => {
  assert.deepEqual(requested('Impersonate-User', 'j', 'Impersonate-Extra-a%zz', 'b')?.user.extra, {
    'a%zz': ['b'],
  })
})
