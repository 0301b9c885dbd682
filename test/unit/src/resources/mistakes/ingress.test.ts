/*
 * Goal: common mistakes in an Ingress have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'
import { LABEL_1035, PORT, SUBDOMAIN } from './words.ts'

const backend = { service: { name: 'web', port: { number: 80 } } }
const path = { path: '/', pathType: 'Prefix', backend }
const body = { metadata: { name: 'web' }, spec: { rules: [{ http: { paths: [path] } }] } }
const first = 'spec.rules[0].http.paths[0]'

const inSpec = (title: string, spec: JsonObject, cause: string): Mistake => [title, { spec }, cause]
const inRule = (title: string, rule: JsonObject, cause: string): Mistake =>
  inSpec(title, { rules: [{ http: { paths: [path] }, ...rule }] }, cause)
const inPath = (title: string, members: JsonObject, cause: string): Mistake =>
  inSpec(title, { rules: [{ http: { paths: [{ ...path, ...members }] } }] }, cause)
const inService = (title: string, service: JsonObject, cause: string): Mistake =>
  inPath(title, { backend: { service: { ...backend.service, ...service } } }, cause)
const host = (value: string, words: string): string =>
  `FieldValueInvalid spec.rules[0].host: Invalid value: "${value}": ${words}`

refuseNew({ kind: 'Ingress', group: 'networking.k8s.io', body }, [
  ...metadataMistakes,
  inSpec(
    'neither rules nor a default backend',
    { rules: null },
    'FieldValueInvalid spec: Invalid value: []networking.IngressRule(nil): ' +
      'either `defaultBackend` or `rules` must be specified',
  ),
  inSpec(
    'a class with a capital and an underscore',
    { ingressClassName: 'My_class' },
    `FieldValueInvalid spec.ingressClassName: Invalid value: "My_class": ${SUBDOMAIN}`,
  ),
  [
    'a class in a member and in an annotation',
    {
      metadata: { annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
      spec: { ingressClassName: 'nginx' },
    },
    'FieldValueInvalid annotations.kubernetes.io/ingress.class: Invalid value: "nginx": ' +
      'can not be set when the class field is also set',
  ],
  inRule('a host with a capital', { host: 'Web.local' }, host('Web.local', SUBDOMAIN)),
  inRule('a host with a port', { host: 'web.local:80' }, host('web.local:80', SUBDOMAIN)),
  inRule('a host with a scheme', { host: 'http://web.local' }, host('http://web.local', SUBDOMAIN)),
  inRule(
    'an address as the host',
    { host: '10.0.0.1' },
    host('10.0.0.1', 'must be a DNS name, not an IP address'),
  ),
  inRule('no paths', { http: { paths: [] } }, 'FieldValueRequired spec.rules[0].http.paths: Required value'),
  inPath(
    'no path type',
    { pathType: null },
    `FieldValueRequired ${first}.pathType: Required value: pathType must be specified`,
  ),
  inPath(
    'an unknown path type',
    { pathType: 'Regex' },
    `FieldValueNotSupported ${first}.pathType: Unsupported value: "Regex": ` +
      'supported values: "Exact", "ImplementationSpecific", "Prefix"',
  ),
  inPath(
    'a relative path',
    { path: 'web' },
    `FieldValueInvalid ${first}.path: Invalid value: "web": must be an absolute path`,
  ),
  inPath(
    'two slashes in a path',
    { path: '/a//b' },
    `FieldValueInvalid ${first}.path: Invalid value: "/a//b": must not contain '//'`,
  ),
  inPath(
    'a path that ends with its parent',
    { path: '/a/..' },
    `FieldValueInvalid ${first}.path: Invalid value: "/a/..": cannot end with '/..'`,
  ),
  inPath(
    'an empty backend',
    { backend: {} },
    `FieldValueInvalid ${first}.backend: Invalid value: "": resource or service backend is required`,
  ),
  inPath(
    'a backend of two kinds',
    { backend: { ...backend, resource: { kind: 'Bucket', name: 'b' } } },
    `FieldValueInvalid ${first}.backend: Invalid value: "": cannot set both resource and service backends`,
  ),
  inService(
    'a Service without a name',
    { name: '' },
    `FieldValueRequired ${first}.backend.service.name: Required value`,
  ),
  inService(
    'a Service with an underscore',
    { name: 'my_web' },
    `FieldValueInvalid ${first}.backend.service.name: Invalid value: "my_web": ${LABEL_1035}`,
  ),
  inService(
    'a Service without a port',
    { port: {} },
    `FieldValueRequired ${first}.backend: Required value: port name or number is required`,
  ),
  inService(
    'a port by name and by number',
    { port: { name: 'http', number: 80 } },
    `FieldValueInvalid ${first}.backend: Invalid value: "": cannot set both port name & port number`,
  ),
  inService(
    'a port above 65535',
    { port: { number: 80_800 } },
    `FieldValueInvalid ${first}.backend.service.port.number: Invalid value: 80800: ${PORT}`,
  ),
  inService(
    'a port name of more than 15 characters',
    { port: { name: 'http-for-my-users' } },
    `FieldValueInvalid ${first}.backend.service.port.name: Invalid value: "http-for-my-users": ` +
      'must be no more than 15 characters',
  ),
  inSpec(
    'a certificate for a host with a capital',
    { tls: [{ hosts: ['Web.local'], secretName: 'tls' }] },
    `FieldValueInvalid spec.tls[0].hosts[0]: Invalid value: "Web.local": ${SUBDOMAIN}`,
  ),
  inSpec(
    'a Secret with an underscore',
    { tls: [{ hosts: ['web.local'], secretName: 'my_tls' }] },
    `FieldValueInvalid spec.tls[0].secretName: Invalid value: "my_tls": ${SUBDOMAIN}`,
  ),
  inSpec(
    'a default backend without a port',
    { defaultBackend: { service: { name: 'web' } } },
    'FieldValueRequired spec.defaultBackend: Required value: port name or number is required',
  ),
])
