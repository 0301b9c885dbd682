import { objectMember, textMember } from '../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import { persistentVolumeSources } from '../../../src/resources/volumes/persistent-volume-spec.ts'
import { volumeSources } from '../../../src/resources/volumes/volume.ts'
import { objectReferenceSchema } from '../../../src/resources/common/object-reference.ts'
import { roleGroup } from '../../../src/resources/rbac/policy-rule.ts'
import { certificateRequest } from '../fixtures/certificate-request.ts'
import { containerHints, containerMends, podHints, podMends } from './full-pod-hints.ts'
import { autoscalerHints } from './full-autoscaler-hints.ts'
import { securityPolicyHints } from './full-policy-hints.ts'
import { serviceHints } from './full-service-hints.ts'
import { workloadHints, workloadMends } from './full-workload-hints.ts'
import { definitionHints } from './full-definition-hints.ts'
import type { Hint, Hints, Mend, ObjectMaker } from './hint.ts'
import { hostileTexts } from './hostile-texts.ts'
import { TestAuthority } from '../../../fixtures/server-fixture.ts'

/*
 * Rules that schemas cannot express and that make full objects valid: values of a special form,
 * members that must be equal or different, and members that exclude each other.
 */

/** Exactly one of these members is set. */
export const unions: { readonly [shape: string]: readonly string[] } = {
  'core.v1.Volume': volumeSources,
  'core.v1.PersistentVolumeSpec': persistentVolumeSources,
  'core.v1.Probe': ['exec', 'httpGet', 'tcpSocket', 'grpc'],
  'core.v1.LifecycleHandler': ['exec', 'httpGet', 'tcpSocket'],
  'core.v1.EnvVar': ['valueFrom', 'value'],
  'core.v1.EnvVarSource': ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef'],
  'core.v1.EnvFromSource': ['configMapRef', 'secretRef'],
  'core.v1.DownwardAPIVolumeFile': ['fieldRef', 'resourceFieldRef'],
  'core.v1.VolumeProjection': ['secret', 'downwardAPI', 'configMap', 'serviceAccountToken'],
  'core.v1.FCVolumeSource': ['targetWWNs', 'wwids'],
  'core.v1.FlockerVolumeSource': ['datasetName', 'datasetUUID'],
  'core.v1.VolumeMount': ['subPath', 'subPathExpr'],
  'core.v1.ContainerState': ['waiting', 'running', 'terminated'],
  'storage.v1.VolumeAttachmentSource': ['persistentVolumeName', 'inlineVolumeSpec'],
  'authorization.v1.SelfSubjectAccessReviewSpec': ['resourceAttributes', 'nonResourceAttributes'],
  'authorization.v1.SubjectAccessReviewSpec': ['resourceAttributes', 'nonResourceAttributes'],
  'admissionregistration.v1.WebhookClientConfig': ['url', 'service'],
  'flowcontrol.v1beta2.Subject': ['user', 'group', 'serviceAccount'],
  'networking.v1.IngressBackend': ['service', 'resource'],
  'networking.v1.NetworkPolicyPeer': ['podSelector', 'ipBlock', 'namespaceSelector'],
}

const one =
  (value: Json): Hint =>
  () =>
    value
const leftOut: Hint = () => undefined
const inDefault = one('default')
const accessModes = one(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'])
const snapshot: Hint = ({ names }) => ({
  apiGroup: names.group('snapshot.storage'),
  kind: 'VolumeSnapshot',
  name: 'snapshot',
})

const dataHints: Hints = {
  'core.v1.ConfigMap.data': () => Object.fromEntries(hostileTexts.map((text, at) => [`t${at}`, text])),
  'core.v1.Secret.stringData': () => Object.fromEntries(hostileTexts.map((text, at) => [`t${at}`, text])),
}

const volumeHints: Hints = {
  'core.v1.HostPathVolumeSource.path': one('/mnt'),
  'core.v1.NFSVolumeSource.path': one('/exports'),
  'core.v1.QuobyteVolumeSource.registry': one('registry.example.com:7861,[::1]:7861'),
  ...iscsiHints('core.v1.ISCSIVolumeSource'),
  ...iscsiHints('core.v1.ISCSIPersistentVolumeSource'),
  'core.v1.ObjectFieldSelector.apiVersion': one('v1'),
  'core.v1.ObjectFieldSelector.fieldPath': one('metadata.name'),
  'core.v1.ResourceFieldSelector.resource': one('limits.cpu'),
  'core.v1.ResourceFieldSelector.divisor': one('1m'),
  'core.v1.PersistentVolumeClaimTemplate.metadata': metadataOfTemplate,
  'core.v1.PodTemplateSpec.metadata': metadataOfTemplate,
}

/** Returns the metadata of a template: labels and annotations. A template has no name. */
function metadataOfTemplate(maker: ObjectMaker): JsonObject {
  const [labels, annotations] = [{ [maker.word()]: maker.word() }, { [maker.word()]: maker.word() }]
  return { creationTimestamp: null, labels, annotations }
}

function iscsiHints(shape: string): Hints {
  const iqn = one('iqn.2001-04.com.example:storage.disk1')
  return { [`${shape}.iqn`]: iqn, [`${shape}.initiatorName`]: iqn }
}

const storageHints: Hints = {
  'core.v1.PersistentVolumeClaimSpec.accessModes': accessModes,
  'core.v1.PersistentVolumeClaimSpec.resources': one({
    limits: { storage: '2Gi' },
    requests: { storage: '1Gi' },
  }),
  'core.v1.PersistentVolumeClaimSpec.dataSource': snapshot,
  'core.v1.PersistentVolumeClaimSpec.dataSourceRef': snapshot,
  'core.v1.PersistentVolumeClaimStatus.accessModes': accessModes,
  'core.v1.PersistentVolumeSpec.accessModes': accessModes,
  'core.v1.PersistentVolumeSpec.capacity': one({ storage: '5Gi' }),
  'storage.v1.VolumeAttachmentSource.inlineVolumeSpec': inlineVolume,
  'storage.v1.CSIDriverSpec.volumeLifecycleModes': one(['Persistent', 'Ephemeral']),
}

/** Only some members of a volume spec are allowed in an attachment. */
function inlineVolume(maker: ObjectMaker): JsonObject {
  const reference = (): JsonObject => ({ name: maker.word(), namespace: maker.word() })
  return {
    accessModes: ['ReadWriteOnce'],
    mountOptions: [maker.word()],
    persistentVolumeReclaimPolicy: 'Retain',
    volumeMode: 'Filesystem',
    csi: {
      ...{ driver: maker.word(), volumeHandle: maker.word(), fsType: 'ext4', readOnly: true },
      volumeAttributes: { [maker.word()]: maker.word() },
      ...{ controllerPublishSecretRef: reference(), nodeStageSecretRef: reference() },
      ...{ nodePublishSecretRef: reference(), controllerExpandSecretRef: reference() },
    },
  }
}

const amountsOf =
  (...resources: readonly string[]): Hint =>
  () =>
    Object.fromEntries(resources.map((name, at) => [name, String(at + 1)]))

const policyHints: Hints = {
  'core.v1.LimitRangeSpec.limits': one([
    {
      type: 'Container',
      ...{ max: { cpu: '2', memory: '2Gi' }, min: { cpu: '1m', memory: '1Mi' } },
      ...{ default: { cpu: '1', memory: '1Gi' }, defaultRequest: { cpu: '500m', memory: '512Mi' } },
      maxLimitRequestRatio: { cpu: '4' },
    },
    { type: 'PersistentVolumeClaim', max: { storage: '10Gi' } },
  ]),
  'core.v1.ResourceQuotaSpec.hard': one({ pods: '10', 'requests.cpu': '2', 'limits.memory': '4Gi' }),
  'core.v1.ResourceQuotaSpec.scopes': one(['NotBestEffort', 'NotTerminating']),
  'core.v1.ScopeSelector.matchExpressions': one([
    { scopeName: 'PriorityClass', operator: 'In', values: ['high', 'low'] },
  ]),
  'core.v1.ResourceQuotaStatus.hard': amountsOf('pods', 'secrets'),
  'core.v1.ResourceQuotaStatus.used': amountsOf('pods', 'secrets'),
  'node.v1.Overhead.podFixed': amountsOf('cpu', 'memory'),
  'networking.v1.IngressClassSpec.controller': one('example.com/ingress'),
  'networking.v1.IngressClassParametersReference.scope': one('Namespace'),
}

const selectorHints: Hints = {
  'meta.v1.LabelSelectorRequirement.operator': (_, variant) => (variant % 2 === 0 ? 'In' : 'NotIn'),
  'core.v1.NodeSelectorRequirement.operator': (_, variant) => (variant % 2 === 0 ? 'In' : 'NotIn'),
  'core.v1.NodeSelectorTerm.matchFields': (maker) => [
    { key: 'metadata.name', operator: 'NotIn', values: [maker.word()] },
  ],
}

const accessHints: Hints = {
  'rbac.v1.Role.rules': (maker) => [resourceRule(maker), resourceRule(maker)],
  'rbac.v1.ClusterRole.rules': (maker) => [
    resourceRule(maker),
    { verbs: ['get', 'post'], nonResourceURLs: ['/healthz', '/metrics/*'] },
  ],
  'rbac.v1.RoleRef.apiGroup': ({ names }) => roleGroup(names),
  'rbac.v1.RoleRef.kind': one('ClusterRole'),
  'rbac.v1.RoleBinding.subjects': subjects,
  'rbac.v1.ClusterRoleBinding.subjects': subjects,
  'authentication.v1.TokenReviewSpec.token': one('admin-token'),
  'authentication.v1beta1.TokenReviewSpec.token': one('admin-token'),
  'authorization.v1.ResourceAttributes.namespace': inDefault,
  'authorization.v1.SelfSubjectRulesReviewSpec.namespace': inDefault,
  'certificates.v1.CertificateSigningRequestSpec.request': () =>
    base64(certificateRequest({ commonName: 'jane' })),
  'certificates.v1.CertificateSigningRequestSpec.signerName': one('example.com/signer'),
  'certificates.v1.CertificateSigningRequestSpec.expirationSeconds': one(3600),
  'certificates.v1.CertificateSigningRequestCondition.status': one('True'),
  'certificates.v1.CertificateSigningRequestStatus.certificate': () => base64(certificate()),
}

function resourceRule(maker: ObjectMaker): JsonObject {
  return {
    verbs: ['get', 'list', maker.word()],
    apiGroups: ['', maker.word()],
    resources: ['pods', 'pods/log'],
    resourceNames: [maker.word(), maker.word()],
  }
}

function subjects(maker: ObjectMaker): Json {
  const apiGroup = roleGroup(maker.names)
  return [
    { kind: 'User', apiGroup, name: maker.word() },
    { kind: 'Group', apiGroup, name: maker.word() },
    { kind: 'ServiceAccount', name: maker.word(), namespace: maker.word() },
  ]
}

let issued = ''

function certificate(): string {
  if (issued === '') issued = new TestAuthority().client('jane', []).cert
  return issued
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

const webhook = 'admissionregistration.v1'
const webhookHints: Hints = {
  ...Object.fromEntries(
    ['MutatingWebhook', 'ValidatingWebhook'].flatMap((shape): readonly (readonly [string, Hint])[] => [
      [`${webhook}.${shape}.name`, (maker) => `${maker.word()}.hooks.example.com`],
      [`${webhook}.${shape}.timeoutSeconds`, one(30)],
      [`${webhook}.${shape}.admissionReviewVersions`, one(['v1', 'v1beta1', 'v2alpha1'])],
    ]),
  ),
  [`${webhook}.RuleWithOperations.operations`]: one(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
  [`${webhook}.WebhookClientConfig.url`]: one('https://hooks.example.com:8443/check'),
  [`${webhook}.ServiceReference.path`]: one('/check/this'),
}

const clusterHints: Hints = {
  'core.v1.NamespaceSpec.finalizers': ({ names }) => ['example.com/keep', names.namespaceFinalizer],
  'core.v1.NamespaceStatus.phase': one('Active'),
  'core.v1.NodeSpec.podCIDR': one('10.1.0.0/24'),
  'core.v1.NodeSpec.podCIDRs': one(['10.1.0.0/24', '2001:db8::/64']),
  'cluster.v1.MemberSpec.peerAddress': one('member.example.com:7443'),
  'cluster.v1.MemberSpec.clientAddress': one('[2001:db8::1]:6443'),
  // The replaced member would have to exist.
  'cluster.v1.MemberSpec.replaces': leftOut,
}

const happenedInDefault: Hint = (maker, variant) => ({
  ...maker.struct(objectReferenceSchema, variant),
  namespace: 'default',
})
const eventHints: Hints = {
  'core.v1.Event.involvedObject': happenedInDefault,
  'events.v1.Event.regarding': happenedInDefault,
  'events.v1beta1.Event.regarding': happenedInDefault,
  'events.v1.Event.type': one('Warning'),
  'events.v1.EventSeries.count': one(3),
  // Clients of events v1 do not set these; v1beta1 covers their conversion.
  'events.v1.Event.deprecatedSource': one({}),
  'events.v1.Event.deprecatedFirstTimestamp': leftOut,
  'events.v1.Event.deprecatedLastTimestamp': leftOut,
  'events.v1.Event.deprecatedCount': leftOut,
}

/** Names that are derived from the content of an object. */
export const namesOfKinds: { readonly [kind: string]: (object: JsonObject) => string } = {
  APIService: (service) => {
    const spec = objectMember(service, 'spec')
    return `${textMember(spec, 'version')}.${textMember(spec, 'group')}`
  },
  CustomResourceDefinition: (definition) => {
    const spec = objectMember(definition, 'spec')
    return `${textMember(objectMember(spec, 'names'), 'plural')}.${textMember(spec, 'group')}`
  },
}

export const hints: Hints = {
  ...definitionHints,
  ...dataHints,
  ...eventHints,
  ...volumeHints,
  ...storageHints,
  ...policyHints,
  ...selectorHints,
  ...accessHints,
  ...webhookHints,
  ...clusterHints,
  ...containerHints,
  ...podHints,
  ...workloadHints,
  ...securityPolicyHints,
  ...serviceHints,
  'apiregistration.v1.APIServiceSpec.version': one('v1'),
  'apiregistration.v1.APIServiceSpec.insecureSkipTLSVerify': () => undefined,
  'apiregistration.v1.ServiceReference.port': one(8443),
  ...autoscalerHints,
}

export const mends: { readonly [shape: string]: Mend } = {
  'core.v1.Binding': (draft) => {
    draft['target'] = { ...objectMember(draft, 'target'), kind: 'Node' }
  },
  ...containerMends,
  ...podMends,
  ...workloadMends,
  'core.v1.AzureDiskVolumeSource': (disk) => {
    disk['diskURI'] =
      disk['kind'] === 'Managed' ? '/subscriptions/a/b' : 'https://account.example.com/disk.vhd'
  },
}
