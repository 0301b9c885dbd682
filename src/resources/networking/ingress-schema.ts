import { int32, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import { backendReferenceSchema } from '../common/typed-local-object-reference.ts'
import { loadBalancerStatusSchema } from '../services/load-balancer-status.ts'
import { checkBackend, checkHost, checkHttpPath, checkTls } from './ingress-rules.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'

const serviceBackendPortSchema = struct(
  'networking.v1.ServiceBackendPort',
  'A port of a Service, by name or by number.',
  {
    name: text(1, 'Name of the port.'),
    number: int32(2, 'Number of the port.'),
  },
)

const ingressServiceBackendSchema = struct(
  'networking.v1.IngressServiceBackend',
  'A port of a Service of the namespace.',
  {
    name: text(1, 'Name of the Service.', { required: true, always: true }),
    port: part(2, serviceBackendPortSchema, 'Port of the Service.'),
  },
)

const ingressBackendSchema = struct(
  'networking.v1.IngressBackend',
  'Where requests are sent: a Service, or another object.',
  {
    service: maybe(4, ingressServiceBackendSchema, 'Service of the namespace.'),
    resource: maybe(
      3,
      backendReferenceSchema,
      'Object of the namespace, of a kind that the controller supports.',
    ),
  },
  { check: checkBackend },
)

const httpIngressPathSchema = struct(
  'networking.v1.HTTPIngressPath',
  'Where requests of a path are sent.',
  {
    path: text(1, 'Path of the requests.'),
    pathType: text(3, 'How the path is compared: Exact, Prefix or ImplementationSpecific.', {
      enum: ['Exact', 'ImplementationSpecific', 'Prefix'],
      required: true,
      optional: true,
      always: true,
    }),
    backend: part(2, ingressBackendSchema, 'Where the requests are sent.', { always: true, required: true }),
  },
  { check: checkHttpPath },
)

const httpIngressRuleValueSchema = struct(
  'networking.v1.HTTPIngressRuleValue',
  'Where requests are sent, by path.',
  {
    paths: listOf(1, httpIngressPathSchema, 'Paths and their backends.', {
      required: true,
      listType: 'atomic',
    }),
  },
)

const ingressRuleValueSchema = struct('networking.v1.IngressRuleValue', 'Rules of a protocol.', {
  http: maybe(1, httpIngressRuleValueSchema, 'Rules of HTTP.'),
})

const ingressRuleSchema = struct(
  'networking.v1.IngressRule',
  'Rules of a host.',
  {
    host: text(1, 'Host name, which may begin with a wildcard; unset means all hosts.'),
  },
  { check: checkHost, inline: [{ number: 2, schema: ingressRuleValueSchema }] },
)

const ingressTLSSchema = struct(
  'networking.v1.IngressTLS',
  'A certificate and its hosts.',
  {
    hosts: texts(1, 'Hosts that the certificate is for.', { listType: 'atomic' }),
    secretName: text(2, 'Secret with the certificate and the key.', { rule: checkDns1123Subdomain }),
  },
  { check: checkTls },
)

const ingressSpecSchema = struct('networking.v1.IngressSpec', 'Desired state of an Ingress.', {
  ingressClassName: text(4, 'IngressClass whose controller implements the Ingress.', {
    optional: true,
    rule: checkDns1123Subdomain,
  }),
  defaultBackend: maybe(1, ingressBackendSchema, 'Where requests are sent that no rule matches.'),
  tls: listOf(2, ingressTLSSchema, 'Certificates.', { listType: 'atomic' }),
  rules: listOf(3, ingressRuleSchema, 'Rules by host.', { listType: 'atomic' }),
})

const ingressStatusSchema = struct('networking.v1.IngressStatus', 'Observed state of an Ingress.', {
  loadBalancer: part(1, loadBalancerStatusSchema, 'Addresses of its load balancer.'),
})

export const ingressSchema = struct('networking.v1.Ingress', 'Rules for HTTP requests from outside.', {
  spec: part(2, ingressSpecSchema, 'Desired state of the Ingress.'),
  status: part(3, ingressStatusSchema, 'Observed state; set by the controller.'),
})
