/** A ConfigMap of 1 KB, as `kubectl create -f` sends it. */
export function measuredConfigMap(name: string, at: number): object {
  return {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name, labels: { app: applicationOf(at), tier: 'backend' } },
    data: { 'app.properties': 'first '.repeat(110), mode: 'production', level: 'info' },
  }
}

/**
 * A Pod of one of a hundred applications. With its defaults and status, but without managedFields,
 * it has 3 to 4 KB. The Pods of one application differ only in their names.
 */
export function measuredPod(name: string, at: number): object {
  const app = applicationOf(at)
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      name,
      labels: { app, tier: 'backend', 'pod-template-hash': '7d4b8c6f5' },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8080' },
    },
    spec: {
      containers: [
        containerOf(app, 8080),
        { name: `${app}-proxy`, image: 'registry.example/proxy:1.14', ports: [{ containerPort: 15090 }] },
      ],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      volumes: [
        { name: 'config', configMap: { name: `${app}-config` } },
        { name: 'cache', emptyDir: {} },
      ],
    },
  }
}

function containerOf(app: string, port: number): object {
  return {
    ...{ name: app, image: `registry.example/team/${app}:first` },
    args: ['--listen', `:${port}`, '--log-format', 'json'],
    ports: [{ name: 'http', containerPort: port }],
    env: [
      { name: `${app.toUpperCase().replace('-', '_')}_MODE`, value: 'production' },
      { name: 'LOG_LEVEL', value: 'info' },
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    resources: { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 10 },
    livenessProbe: { httpGet: { path: '/live', port }, initialDelaySeconds: 15 },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/app' },
      { name: 'cache', mountPath: '/var/cache/app' },
    ],
  }
}

function applicationOf(at: number): string {
  return `app-${at % 100}`
}

/** The status that a node reports. */
export const measuredPodStatus: object = {
  status: {
    phase: 'Running',
    hostIP: '10.0.0.7',
    podIP: '10.244.1.17',
    startTime: '2026-01-02T03:04:05Z',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      ...{ type, status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' },
    })),
    containerStatuses: ['app', 'proxy'].map((name) => ({
      ...{ name, ready: true, restartCount: 0, started: true },
      image: `registry.example/team/${name}:1.14`,
      imageID: `registry.example/team/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
      containerID: `containerd://${'0123456789abcdef'.repeat(4)}`,
      state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
    })),
  },
}
