# 简体中文。称呼：你。

## 登录

sign-in-title = 登录
sign-in-app = { $app } 请求使用你的账号。
sign-in-name = 用户名或电子邮件地址
sign-in-password = 密码
sign-in-button = 登录
sign-in-wrong = 用户名或密码不正确，请检查后重试。
sign-in-wrong-address = 如果你是在这里注册的，请使用用户名，而不是电子邮件地址。
sign-in-disabled = 此账号已被停用。请联系此服务器的管理者。
sign-in-too-many = 尝试次数过多，请在 { $minutes } 分钟后重试。
sign-in-forgot = 忘记密码？
sign-in-sign-up = 创建账号

## 授权

consent-title = 允许 { $app } 使用你的账号吗？
consent-account = 你的账号
consent-switch = 使用其他账号
consent-allows = { $app } 将可以：
consent-admin-allows = 以此服务器管理员的身份：
consent-then-host = 之后你将返回 { $host }。
consent-then-device = 之后你将返回此设备上的应用。
consent-then-code = 之后你会看到一个代码，请将它输入 { $app }。
consent-allow = 允许 { $app } 访问
consent-deny = 拒绝

consent-all-read = 查看你账号中的所有内容
consent-all-write = 更改你账号中的所有内容，并以你的名义操作
consent-all-both = 查看和更改你账号中的所有内容，并以你的名义操作
consent-accounts-read = 查看你的账号信息
consent-accounts-write = 更改你的个人资料
consent-accounts-both = 查看你的账号信息，并更改你的个人资料
consent-blocks-read = 查看你屏蔽了谁
consent-blocks-write = 屏蔽和取消屏蔽他人
consent-blocks-both = 查看和更改你屏蔽了谁
consent-bookmarks-read = 查看你的书签
consent-bookmarks-write = 添加和移除书签
consent-bookmarks-both = 查看和更改你的书签
consent-conversations-write = 静音和删除对话
consent-favourites-read = 查看你喜欢的内容
consent-favourites-write = 添加和取消喜欢
consent-favourites-both = 查看和更改你喜欢的内容
consent-filters-read = 查看你的过滤规则
consent-filters-write = 更改你的过滤规则
consent-filters-both = 查看和更改你的过滤规则
consent-follow-both = 查看和更改你关注、屏蔽和静音了谁
consent-follows-read = 查看你关注了谁
consent-follows-write = 关注和取消关注他人
consent-follows-both = 查看和更改你关注了谁
consent-lists-read = 查看你的列表
consent-lists-write = 更改你的列表
consent-lists-both = 查看和更改你的列表
consent-media-write = 上传图片、音频和视频
consent-mutes-read = 查看你静音了谁
consent-mutes-write = 静音他人和对话，以及取消静音
consent-mutes-both = 查看和更改你静音了谁
consent-notifications-read = 查看你的通知和通知规则
consent-notifications-write = 清除你的通知，并更改通知规则
consent-notifications-both = 查看和清除你的通知，并更改通知规则
consent-profile-read = 查看你的名字和个人资料
consent-push-both = 向你发送推送通知，并查看和更改推送规则
consent-reports-write = 以你的名义举报他人和帖子
consent-search-read = 以你的名义搜索
consent-statuses-read = 查看帖子，包括你能看到的非公开帖子
consent-statuses-write = 以你的名义发布、编辑和删除帖子
consent-statuses-both = 查看帖子（包括非公开帖子），并以你的名义发布、编辑和删除帖子

consent-admin-all-read = 查看只有管理员能看到的所有内容
consent-admin-all-write = 更改只有管理员能更改的所有内容
consent-admin-all-both = 查看和更改此服务器上的所有内容
consent-admin-accounts-read = 查看所有账号及其非公开信息
consent-admin-accounts-write = 管理账号
consent-admin-accounts-both = 查看所有账号及其非公开信息，并管理账号
consent-admin-reports-read = 查看举报
consent-admin-reports-write = 处理举报
consent-admin-reports-both = 查看和处理举报
consent-admin-domain_allows-read = 查看哪些服务器被允许
consent-admin-domain_allows-write = 更改哪些服务器被允许
consent-admin-domain_allows-both = 查看和更改哪些服务器被允许
consent-admin-domain_blocks-read = 查看哪些服务器被屏蔽
consent-admin-domain_blocks-write = 更改哪些服务器被屏蔽
consent-admin-domain_blocks-both = 查看和更改哪些服务器被屏蔽
consent-admin-ip_blocks-read = 查看哪些 IP 地址被屏蔽
consent-admin-ip_blocks-write = 更改哪些 IP 地址被屏蔽
consent-admin-ip_blocks-both = 查看和更改哪些 IP 地址被屏蔽
consent-admin-email_domain_blocks-read = 查看哪些电子邮件服务商被屏蔽
consent-admin-email_domain_blocks-write = 更改哪些电子邮件服务商被屏蔽
consent-admin-email_domain_blocks-both = 查看和更改哪些电子邮件服务商被屏蔽
consent-admin-canonical_email_blocks-read = 查看哪些电子邮件地址被屏蔽
consent-admin-canonical_email_blocks-write = 更改哪些电子邮件地址被屏蔽
consent-admin-canonical_email_blocks-both = 查看和更改哪些电子邮件地址被屏蔽

## 代码，用于无法自行接收的应用

code-title = 用于 { $app } 的代码
code-sentence = 请复制此代码，并将它输入 { $app }。
code-label = 代码
code-copy = 复制
code-copied = 已复制
code-care = 代码只能使用一次，且仅在几分钟内有效。请勿让他人看到。

## 返回应用途中

return-title = 返回 { $app }
return-sentence = 正在将你的答复发送到 { $app }。如果没有反应，请按下按钮。
return-button = 继续前往 { $app }

## 你的账号

nav-overview = 概览
nav-notifications = 通知
nav-rules = 所有规则
nav-try = 用消息测试
nav-security = 安全
nav-skip = 跳到正文
notice-saved = 已保存。
notice-removed = 已移除。
notice-not-saved = 由于你已不在登录状态，没有保存任何更改。请重试。
notice-app-removed = 该应用已无法访问你的账号。
pager-position = 第 { $page } 页，共 { $pages } 页
pager-previous = 上一页
pager-next = 下一页
sign-out-button = 退出登录
apps-title = 有访问权限的应用
apps-none = 没有应用可以访问你的账号。
apps-removal = 移除后，应用会立即失去访问权限。以后你可以重新允许。
apps-since = 自 { $time } 起
apps-remove = 移除访问权限
apps-link = 查看和移除有访问权限的应用
apps-matrix = Matrix 客户端
apps-matrix-note = 你用密码登录过的应用。
apps-issued-note = 由此服务器的管理者签发。

## Notifications

notifications-pause = 全部暂停
notifications-on = 通知已开启。
notifications-paused = 全部通知已暂停，直到你重新开启。
notifications-paused-until = 全部通知已暂停，直到 { $time }。
notifications-pause-hour = 1 小时
notifications-pause-8-hours = 8 小时
notifications-pause-morning = 到早上 8:00
notifications-pause-open = 直到我重新开启
notifications-resume = 重新开启
notifications-utc = 本页的所有时间均为 UTC，可能与你所在的时区不同。早上 8:00 也是 UTC。
notifications-devices = 设备
notifications-all-devices = 所有设备
notifications-device = 这些设置用于配置为 { $profile } 的设备，优先于所有设备的设置。
notifications-more-profiles = 此处未显示的其他设备配置：{ $count } 个。
notifications-keywords = 关键词
notifications-keywords-sentence = 含有这些词语的消息会通知你。不区分大小写；* 代表任意字符，? 代表一个字符。
notifications-keywords-none = 你没有关键词。
notifications-word = 词语
notifications-sound = 声音
notifications-highlight = 突出显示
notifications-add-keyword = 添加关键词
notifications-save = 保存
notifications-remove = 移除
notifications-subjects = 用户和房间
notifications-subjects-sentence = 静音的用户或房间不会通知你，除非消息提到你或含有你的关键词。
notifications-subjects-none = 你没有针对用户或房间的设置。
notifications-id = 用户或房间
notifications-id-hint = 用户的 ID，例如 @name:server，或房间的 ID，例如 !id:server。也可以填应用中的链接。
notifications-choice = 通知
notifications-choice-hint = 时间到了之后，该条目会被移除。
notifications-choice-notify = 总是通知
notifications-choice-mute = 静音，直到我更改
notifications-choice-mute-hour = 静音 1 小时
notifications-choice-mute-8-hours = 静音 8 小时
notifications-choice-mute-day = 静音 1 天
notifications-choice-mute-week = 静音 1 周
notifications-add-subject = 添加
notifications-people = 用户
notifications-rooms = 房间
notifications-off = 已停用
notifications-muted = 已静音
notifications-silent = 已静音，包括提及
notifications-notifies = 总是通知
notifications-until = 直到 { $time }
notifications-switches = 其他一切
notifications-switches-sentence = 当你自己的设置都不符合时适用。
notifications-messages = 消息
notifications-mentions = 提及
notifications-events = 通话和房间
notifications-switch-on = 开
notifications-switch-partly = 部分开启
notifications-switch-off = 关
notifications-switch-one-to-one = 通知我只有我和另一人的房间中的消息。
notifications-switch-group = 通知我其他所有房间中的消息。
notifications-switch-bots = 机器人的消息不通知。
notifications-switch-edits = 消息被编辑时不通知。
notifications-switch-reactions = 回应不通知。
notifications-switch-mention = 有人提到我时通知我。
notifications-switch-display-name = 消息含有我的显示名称时通知我。
notifications-switch-user-name = 消息含有我的用户名时通知我。
notifications-switch-room-mention = 有人用 @room 提到房间里的所有人时通知我。
notifications-switch-call = 有人呼叫我时通知我。
notifications-switch-invitation = 有人邀请我加入房间时通知我。
notifications-switch-upgrade = 房间被新房间取代时通知我。
notifications-switch-members = 有人加入、离开或更改名称时不通知。
notifications-switch-servers = 允许参与房间的服务器变化时不通知。
notifications-other-rules = 你有此页面无法显示的规则：{ $count } 条。
notifications-error-word-blank = 请输入一个词语。
notifications-error-word-too-long = 作为关键词太长了，请输入短一些的词语。
notifications-error-id-blank = 请输入用户或房间的 ID。
notifications-error-id-too-long = 作为 ID 太长了，请检查。
notifications-error-room-alias = 这是房间的地址，不是它的 ID。ID 以 ! 开头，你的应用在房间设置中会显示它。
notifications-error-person-without-server = 缺少服务器。用户的 ID 是这样的：@name:server
notifications-error-id-invalid = 这不是 ID。用户的 ID 形如 @name:server，房间的 ID 形如 !id:server。
notifications-error-too-many = 你的规则数量已达到此服务器的上限（{ $count }）。请先移除一些。
notifications-error-too-large = 你的规则已占满此服务器允许的空间。请先移除一些。
notifications-error-changed = { $name } 在此期间已被更改，可能是在另一个标签页或应用中。没有保存任何内容。这里显示的是现在的状态。
notifications-error-removed = { $name } 在此期间已被移除，可能是在另一个标签页或应用中。没有保存任何内容。
notifications-error-other = 无法保存。请检查你输入的内容。

## All rules

rules-order = 规则从上到下依次检查，最先符合的规则生效。
rules-first = 最先检查
rules-master = 启用此规则期间，你不会收到任何通知。
rules-builtin = 内置
rules-until = 直到 { $time }
rules-everywhere = 所有设备
rules-device = 配置为 { $tag } 的设备
rules-override = 优先于其他所有规则
rules-content = 词语
rules-room = 房间
rules-sender = 用户
rules-underride = 没有其他规则符合时
rules-pattern = 查找 { $pattern }
rules-on = 已启用
rules-off = 已停用
rules-notify = 通知
rules-silent = 静默
rules-sound = 声音
rules-highlight = 突出显示
rules-all = 返回所有规则
rules-enable = 启用
rules-disable = 停用
rules-details = 详情
rules-delete = 删除
rule-new-title = 新规则
rule-new-effect = 要做什么
rule-new-effect-hint = 静音的内容不会通知你，除非消息提到你。
rule-new-mute = 静音
rule-new-highlight = 突出显示并发出声音
rule-new-subject = 哪些消息
rule-new-word = 含有此词语的消息
rule-new-person = 此用户的消息
rule-new-room = 此房间中的消息
rule-new-value = 词语，或用户、房间的 ID
rule-new-more = 只静音一段时间，或只在一台设备上静音：
rule-json = 规则（JSON）
rule-json-sentence = 这里显示的是规则保存的样子。只有应用才能更改其细节。
rule-delete = 删除此规则
rule-delete-effect = 规则删除后无法恢复。

## Try a message

try-intro = 看看你的规则会如何处理一条消息。不会发送或保存任何内容。
try-text = 消息
try-sender = 发送者（用户 ID）
try-room = 所在房间（房间 ID）
try-members = 房间人数
try-members-invalid = 请输入整数。
try-name = 你在房间中的显示名称
try-profile = 设备配置
try-no-profile = 其他任何设备
try-button = 测试
try-busy = 上一次测试仍在进行，或服务器繁忙。请稍后再试。
try-result = 结果
try-sentence = { $reason }，{ $outcome }。
try-notify = 你会收到通知
try-sound = 你会收到带声音的通知
try-highlight = 你会收到突出显示的通知
try-sound-highlight = 你会收到带声音且突出显示的通知
try-silent = 你不会收到通知
try-because-own = 因为这是你自己的消息
try-because-no-rule = 因为没有规则符合
try-because-paused = 因为所有通知已暂停
try-because-paused-until = 因为所有通知已暂停至 { $time }
try-because-keyword = 因为你的关键词 { $word }
try-because-muted-room = 因为你已将此房间静音
try-because-room = 因为你为此房间设的规则
try-because-muted-sender = 因为你已将 { $sender } 静音
try-because-sender = 因为你为 { $sender } 设的规则
try-because-rule = 因为你的规则 { $rule }
try-because-display-name = 因为消息包含你的显示名称
try-because-user-name = 因为消息包含你的用户名
try-because-one-to-one = 因为房间里只有两个人
try-because-any-message = 因为适用于其他所有消息的内置规则
try-because-builtin = 因为内置规则 { $rule }
try-ends = 该规则将于 { $time } 结束。
try-trace = 已检查的规则
try-trace-earlier = 此处未显示的先前规则：{ $count } 条。
try-trace-matched = 符合，由它决定。
try-trace-off = 已停用。
try-trace-skipped = 已跳过，因为消息已标明提及了谁。
try-trace-work = 未检查到底，因为你的规则处理此消息的工作量过大。
try-trace-value = { $key } 为 { $found }，而规则查找 { $expected }。
try-trace-absent = 消息没有 { $key }，而规则查找 { $expected }。
try-trace-name = 文本不包含你的显示名称 { $name }。
try-trace-no-name = 你没有填写显示名称。
try-trace-members = 房间人数为 { $count }，而规则要求 { $expected }。
try-trace-no-members = 你没有填写房间人数。
try-trace-permission = 这取决于发送者能否通知整个房间，此处无法得知。
try-trace-unknown = 本服务器不认识条件 { $kind }。

## Security

deletion-pending = 你的账号将被删除：{ $time }。
deletion-keep = 保留我的账号
password-effect = 更改密码后，其他浏览器和所有应用都会退出登录。你在这里保持登录。
password-current = 当前密码
password-new = 新密码
password-again = 再次输入新密码
password-button = 更改密码
password-wrong = 这不是你的密码。
password-hint = 至少 { $count } 个字符，且不能是常见密码
password-different = 两次输入的密码不一致。
sessions-title = 你的登录位置
sessions-this = 此浏览器
sessions-browser = { $system } 上的 { $browser }
sessions-unknown = 未知浏览器
sessions-since = 登录于 { $time }
sessions-others = 退出其他所有登录
used-recently = 最近一小时内使用过
used-hours = 上次使用：{ $count } 小时前
used-days = 上次使用：{ $count } 天前
used-never = 尚未使用
tokens-count = 已登录 { $count } 处
only-last-used = 这里只显示最近使用的 { $count } 项。
data-title = 你的数据
data-content = 一个文件，包含你的账号、应用、会话、通知规则以及账号的事件记录。其中没有密码。
data-button = 下载我的数据
delete-title = 删除账号
delete-effect = 你的账号将在一天后删除，应用和通知规则也一并删除。在此之前你可以改变主意。其他人不能用你的用户名注册。
delete-button = 删除我的账号
delete-last-admin = 你是此服务器唯一的管理员。请先让其他人成为管理员。
notice-token-revoked = 该应用已在那里退出登录。
notice-password-changed = 密码已更改。其他浏览器和所有应用都已退出登录。
notice-session-ended = 该浏览器已退出登录。
notice-sessions-ended = 其他浏览器都已退出登录。
notice-account-kept = 你的账号已保留。

## Sign up

sign-up-name = 用户名
sign-up-name-hint = 1 至 { $count } 个小写字母、数字和下划线，中间可以使用点和连字符。之后不能更改。
sign-up-email = 电子邮件地址
sign-up-email-hint = 登录时请使用用户名，而不是此地址。
sign-up-again = 再次输入密码
sign-up-agreement = 我会遵守此服务器的规则。
sign-up-rules = 阅读规则
sign-up-button = 创建我的账号
sign-up-sign-in = 我已有账号
registration-closed-title = 不接受新账号
registration-closed-sentence = 此服务器不接受新账号。
registration-closed-advice = 请询问此服务器的运营者。

## Front page

front-title = 欢迎
front-sentence = 你可以在这里决定哪些应用能使用你的账号，以及哪些消息会通知你。
front-signed-in = 你已登录为 { $account }。
front-account = 前往你的账号
front-developers = 开发者
front-developers-sentence = 应用通过 OAuth 2.0 以及 Mastodon 和 Matrix 的 API 连接到此服务器。
front-api = API 说明（OpenAPI）
front-documentation = 文档

## 已退出登录

signed-out-title = 你已退出登录
signed-out-sentence = 你可以关闭此页面。
signed-out-button = 重新登录

## 可能出现的问题

invalid-request-title = 无法答复此请求
invalid-request-advice = 请返回应用重试。如果问题再次出现，请告知应用的开发者。
malformed-sentence = 此服务器无法读取所发送的内容。
denied-title = 已拒绝访问
denied-sentence = 该应用未获得访问权限，你的任何信息都没有被分享。
denied-advice = 你可以关闭此页面。
expired-title = 此请求已失效
expired-sentence = 它已得到答复，或者已过去太久。
expired-advice = 请返回应用重新开始。
forged-form-title = 无法核实此表单
forged-form-sentence = 你可能在另一个标签页中登录或退出了，或者浏览器没有发送此服务器的 Cookie。
forged-form-advice = 请允许此服务器使用 Cookie，返回上一页后重试。
rate-limited-title = 请求过多
rate-limited-sentence = 此服务器在短时间内收到了来自你的过多请求。
rate-limited-advice = 请等待几分钟后重试。
internal-title = 这里出了点问题
internal-sentence = 这是服务器的错误，与你无关。错误已被记录。
internal-advice = 请稍后重试。
busy-title = 服务器繁忙
busy-sentence = 服务器暂时无法响应。你的请求没有问题。
busy-advice = 请稍后重试。
not-found-title = 找不到页面
not-found-sentence = 此地址没有任何内容。
not-found-advice = 请检查地址，或返回你之前使用的应用。

## 授权请求的错误

oauth-error-missing = 缺少必需的参数：{ $parameter }。
oauth-error-repeated = 参数 { $parameter } 被发送了不止一次。
oauth-error-not-one-value = 参数 { $parameter } 必须是单个值，不能是列表。
oauth-error-state-too-long = 参数 state 过长（最多 { $count } 字节）。
oauth-error-too-long = 参数过长。
oauth-error-invalid-client = 客户端未知，或其密钥错误。
oauth-error-unknown-client = 没有使用此 client_id 的应用。
oauth-error-missing-credentials = 请在请求正文中或通过 HTTP Basic 认证发送 client_id 和 client_secret。
oauth-error-two-authentications = 请求使用了不止一种方式来认证客户端。
oauth-error-invalid-redirect-uri = 提供的重定向 URI 无效。
oauth-error-unsupported-response-type = 授权服务器不支持此响应类型（response_type）。
oauth-error-unsupported-response-mode = 授权服务器不支持此响应模式（response_mode）。
oauth-error-malformed-scope = 权限范围之间须用单个空格分隔，且不能包含引号或控制字符。
oauth-error-unknown-scope = 权限范围 { $scope } 不存在。
oauth-error-unregistered-scope = 该应用未注册权限范围 { $scope }。
oauth-error-admin-scope = 只有管理员才能授予权限范围 { $scope }。
oauth-error-invalid-challenge-method = code_challenge_method 必须为 S256。
oauth-error-invalid-challenge = code_challenge 必须是以 43 个 base64url 字符表示的 SHA-256 摘要。
oauth-error-access-denied = 账号所有者或授权服务器拒绝了请求。
oauth-error-unsupported-grant-type = 授权服务器不支持此授权类型（grant_type）。
oauth-error-unauthorized-client = 此应用无权使用这种授权类型。
oauth-error-invalid-grant = 授权码未知、已过期、已被撤销或已被使用，或是颁发给其他客户端的。
oauth-error-unauthorized-revocation = 你无权撤销此令牌

## 注册的错误

validation-failed = 验证失败：{ $problems }
validation-list = { $problems }，{ $problem }

app-name-blank = 应用名称不能为空
app-name-invalid = 应用名称无效
app-name-too-long = 应用名称过长（最多 { $count } 个字符）
app-redirect-uri-blank = 重定向 URI 不能为空
app-redirect-uri-forbidden = 服务器禁止使用此重定向 URI。
app-redirect-uri-invalid = 重定向 URI 必须是有效的 URI。
app-redirect-uri-relative = 重定向 URI 必须是绝对 URI。
app-redirect-uri-opaque = 重定向 URI 必须指定协议。
app-redirect-uri-fragment = 重定向 URI 不能包含片段。
app-redirect-uri-user-info = 重定向 URI 不能包含用户名或密码。
app-redirect-uri-wildcard = 重定向 URI 不能包含通配符。
app-redirect-uri-insecure = 重定向 URI 必须使用 HTTPS。
app-redirect-uri-scheme = 重定向 URI 的方案必须是 https、包含点的方案（例如 com.example.app），或服务器运营者允许的方案。
app-redirect-uri-too-long = 重定向 URI 过长（最多 { $count } 个字符）
app-scopes = 权限范围与服务器上的配置不符。
app-website-invalid = 应用网站不是有效的 URL
app-website-too-long = 应用网站的 URL 过长（最多 { $count } 个字符）
app-auth-method = 应用的认证方式（token_endpoint_auth_method）必须为 client_secret_basic 或 client_secret_post（不支持没有密钥的公开应用：请为应用的每次安装分别注册，以获得各自的密钥）

account-error = { $field }{ $problem }
account-field-username = 用户名
account-field-email = 电子邮件地址
account-field-password = 密码
account-field-agreement = 服务协议
account-blank = 不能为空
account-name-invalid = 只能包含小写字母、数字和下划线，点和连字符只能出现在中间
account-email-invalid = 不是有效的电子邮件地址
account-too-long = 过长（最多 { $count } 个字符）
account-too-short = 过短（最少 { $count } 个字符）
account-password-common = 太常见；请换一个别人不会用的
account-reserved = 已被保留
account-taken = 已被使用
account-not-accepted = 必须接受
